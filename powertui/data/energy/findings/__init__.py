"""What stands out in a run, and what could have been found: one engine, three witnesses."""
