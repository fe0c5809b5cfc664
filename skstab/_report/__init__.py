"""What a report on a table is made of: features and target, alerts, selectors, their comparison and words."""
