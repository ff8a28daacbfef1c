"""What a report looks like: text for people, JSON for programs."""
