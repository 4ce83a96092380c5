"""Small faults put into the rules, one at a time, and the tests that notice them."""
