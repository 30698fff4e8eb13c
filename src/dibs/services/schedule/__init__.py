"""What servers that share a store do once, however many they are."""
