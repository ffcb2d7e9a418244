"""Things that draw. They know a viewport and the model, never a file."""
