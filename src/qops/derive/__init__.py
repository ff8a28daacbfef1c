"""What should be, and what evidence adds up to: pure functions that rules, roles and `qops plan` share."""
