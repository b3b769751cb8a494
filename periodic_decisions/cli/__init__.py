"""Commands on own data."""
