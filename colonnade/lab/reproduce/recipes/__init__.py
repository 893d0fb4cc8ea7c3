"""The papers' tables and figures as data: one TOML file each. `colonnade.lab.reproduce.recipe` reads them."""
