"""What finds conclusions, one file a cause: functions from an `Inquiry` to conclusions."""
