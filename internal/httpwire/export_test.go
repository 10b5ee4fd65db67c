package httpwire

import "time"

// SetSetupLimit changes how long dialling and a TLS handshake may take, and returns what changes it back.
func SetSetupLimit(limit time.Duration) (back func()) {
	before := setupLimit
	setupLimit = limit
	return func() { setupLimit = before }
}
