"""Documentation from package registries, served by made hosts: families of hosts that are one site or nearly so."""
