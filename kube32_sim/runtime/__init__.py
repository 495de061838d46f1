"""What control loops stand on: actions, views, the loop runner."""
