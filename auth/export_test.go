package auth

// KeychainPatience is how long one call of a keychain may take.
const KeychainPatience = keychainPatience

// KeychainService is the service of our items.
const KeychainService = keychainService
