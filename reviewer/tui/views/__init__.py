"""Drawing that several screens share: values to lines."""
