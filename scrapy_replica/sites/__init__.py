"""Which hosts are one site."""
