"""Notifications for people: on the desktop, and as signed webhooks."""
