"""What one page says, measured: main text, forms."""
