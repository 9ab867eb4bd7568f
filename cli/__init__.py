"""The commands. The only room that prints, opens report files and exits."""
