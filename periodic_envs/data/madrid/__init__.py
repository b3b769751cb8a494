"""Madrid's air: the portal's files, the imported years, the simulator."""
