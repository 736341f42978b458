"""Lists of chat messages, and the traces of the SDKs that send them."""
