"""WORLDS: Gymnasium environments whose rewards repeat."""
