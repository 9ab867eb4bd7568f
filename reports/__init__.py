"""What is made of finished results: text, JUnit XML, JSON lines."""
