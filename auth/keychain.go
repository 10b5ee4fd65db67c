package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"mcpwire/internal/redact"
)

// A Keychain keeps short texts secret, each under a key. Its methods may be called from several goroutines at once.
// None is waited for longer than three seconds; one that comes back later does no harm. They should show no dialogue.
type Keychain interface {
	// Get returns the text under the key. The error is ErrNoItem if there is none.
	Get(key string) (text string, err error)
	// Set keeps the text, in place of what was there. An error means that it takes no text, or not that one.
	Set(key, text string) error
	// Delete removes the text. The error is ErrNoItem if there is none.
	Delete(key string) error
}

// ErrNoItem is what a Keychain returns if it has nothing under a key.
var ErrNoItem = errors.New("there is no such item in the keychain")

// keychainService is the service of all our items in the system's keychain; the account is the record's key.
const keychainService = "mcpwire"

// keychainPatience is how long one call of a keychain may take. A dialogue that waits for a person may take for ever.
const keychainPatience = 3 * time.Second

var (
	errSilent    = fmt.Errorf("it has not answered within %s", keychainPatience)
	errNone      = errors.New("it is switched off, or there is none")
	errOtherMark = errors.New("the item in the keychain is missing or belongs to another record")
)

// A vault puts a record's secrets into a keychain. A nil one takes and has nothing.
type vault struct {
	keychain Keychain
	late     atomic.Int64 // calls that nobody waits for any more; while there are any, it isn't asked again
}

func newVault(k Keychain) *vault {
	if k == nil {
		return nil
	}
	return &vault{keychain: k}
}

// secrets are what an item in the keychain holds.
type secrets struct {
	Mark         string            `json:"mark"`
	AccessToken  string            `json:"access_token,omitempty"`
	RefreshToken string            `json:"refresh_token,omitempty"`
	ProofKey     string            `json:"proof_key,omitempty"`
	Clients      map[string]string `json:"clients,omitempty"` // of registrations, by issuer
}

// take splits a record into its secrets and the rest.
func take(r Record) (rest Record, s secrets) {
	rest = r.clone()
	if l := rest.Login; l != nil {
		s.AccessToken, s.RefreshToken, s.ProofKey = l.AccessToken, l.RefreshToken, l.ProofKey
		l.AccessToken, l.RefreshToken, l.ProofKey = "", "", ""
	}
	for issuer, registration := range rest.Registrations {
		if registration.ClientSecret == "" {
			continue
		}
		if s.Clients == nil {
			s.Clients = map[string]string{}
		}
		s.Clients[issuer] = registration.ClientSecret
		registration.ClientSecret = ""
		rest.Registrations[issuer] = registration
	}
	return rest, s
}

// open returns the record of a file together with its secrets. After an error it is the record without them: without
// tokens, and without the registrations that are worth nothing alone. The error is errOtherMark if the item does not
// belong to the file.
func (v *vault) open(ctx context.Context, path, key string, f kept) (Record, error) {
	bare, _ := take(f.Record)
	for _, issuer := range f.Keychain.Clients {
		delete(bare.Registrations, issuer)
	}
	text, err := ask(ctx, v, func(k Keychain) (string, error) { return k.Get(key) })
	switch {
	case errors.Is(err, ErrNoItem):
		return bare, errOtherMark
	case ctx.Err() != nil:
		return bare, context.Cause(ctx)
	case err != nil:
		return bare, fmt.Errorf("%w: the tokens of %s are in the system's keychain, which can't be asked (%s): "+
			"see to it, or log in again", ErrUnreadable, path, redact.Excerpt([]byte(err.Error()), 200))
	}
	var s secrets
	if json.Unmarshal([]byte(text), &s) != nil || s.Mark != f.Keychain.Mark {
		return bare, errOtherMark
	}
	whole := f.clone()
	if whole.Login != nil {
		whole.Login.AccessToken, whole.Login.RefreshToken = s.AccessToken, s.RefreshToken
		whole.Login.ProofKey = s.ProofKey
	}
	for issuer, secret := range s.Clients {
		if registration, ok := whole.Registrations[issuer]; ok {
			registration.ClientSecret = secret
			whole.Registrations[issuer] = registration
		}
	}
	return whole, nil
}

// put puts a record's secrets into the keychain, and returns the rest with what the file is to say of them. It is not
// ok if there are none, or if the keychain doesn't take them.
func (v *vault) put(key string, r Record) (rest Record, ref *itemRef, ok bool) {
	rest, s := take(r)
	if v == nil || s.AccessToken == "" && s.RefreshToken == "" && len(s.Clients) == 0 {
		return r, nil, false
	}
	s.Mark = rand.Text()
	text, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return r, nil, false // the file can't be written either, and says why
	}
	_, err = ask(context.Background(), v, func(k Keychain) (string, error) { return "", k.Set(key, string(text)) })
	if err != nil {
		return r, nil, false
	}
	return rest, &itemRef{Mark: s.Mark, Clients: slices.Sorted(maps.Keys(s.Clients))}, true
}

// remove removes the key's item. That there is none is no error.
func (v *vault) remove(key string) error {
	_, err := ask(context.Background(), v, func(k Keychain) (string, error) { return "", k.Delete(key) })
	if errors.Is(err, ErrNoItem) {
		return nil
	}
	return err
}

// ask calls the keychain, and waits for it until ctx ends or its time is over. The call's goroutine then lives until
// the keychain answers, and meanwhile everybody else is refused at once.
func ask(ctx context.Context, v *vault, f func(Keychain) (string, error)) (string, error) {
	if v == nil {
		return "", errNone
	}
	if v.late.Load() > 0 {
		return "", errSilent
	}
	bounded, cancel := context.WithTimeoutCause(ctx, keychainPatience, errSilent)
	defer cancel()
	type answer struct {
		text string
		err  error
	}
	answers, left := make(chan answer), make(chan bool, 1)
	go func() {
		var a answer
		func() {
			defer func() {
				if p := recover(); p != nil { // libraries of desktops are not careful with what they get
					a.err = fmt.Errorf("its library has failed: %v", p)
				}
			}()
			a.text, a.err = f(v.keychain)
		}()
		select {
		case answers <- a:
		case late := <-left:
			if late {
				v.late.Add(-1)
			}
		}
	}()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-bounded.Done():
		// Whom the caller's own end has cut off may have been quick, and stands in nobody's way.
		late := ctx.Err() == nil
		if late {
			v.late.Add(1)
		}
		left <- late
		return "", context.Cause(bounded)
	}
}
