"""The families of methods, in the order in which people read them."""

FAMILIES = {
    "alone": "The active party alone",
    "once": "Each party learns alone and sends its representations once",
    "rounds": "The parties train together, in many rounds",
    "pretrained": "Each party pre-trains alone, then they train together",
    "between": "The parties pre-train with each other, then they train together",
    "pooled": "References: all columns pooled in one place, not federated",
    "other": "Others",
}
