"""The papers' tables and figures as data: one TOML file each. `colonnade.bench.recipe` reads them."""
