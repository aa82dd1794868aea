"""What sets of constraints and preannotations hold."""
