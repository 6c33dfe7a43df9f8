"""What an operator's commands do: backup, restore, check, export. Each reads beside a running service where it can."""
