"""What makes the models that ship."""
