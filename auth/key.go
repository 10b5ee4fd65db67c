package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
)

// ParsePrivateKey reads a private key, PEM in any of the usual forms: PKCS #8, PKCS #1 or SEC 1. RSA, ECDSA and Ed25519
// are known.
func ParsePrivateKey(text []byte) (crypto.PrivateKey, error) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, errors.New("there is no private key in PEM")
		}
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		text = rest // an EC file may begin with its parameters
	}
}

// usualAlgorithm returns how a key signs where nothing else is said.
func usualAlgorithm(key crypto.PrivateKey) string {
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		switch k.Curve.Params().BitSize {
		case 384:
			return "ES384"
		case 521:
			return "ES512"
		}
	case *rsa.PrivateKey:
		return "RS256"
	case ed25519.PrivateKey:
		return "EdDSA"
	}
	return "ES256"
}
