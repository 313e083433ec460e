"""Row rules as decision diagrams: exact probability, conditioning and drawing, and what rules mean together."""
