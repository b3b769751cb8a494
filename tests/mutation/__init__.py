"""Small faults put into the mathematics one by one: a test should see each of them."""
