package auth

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// NewMemoryStore returns a Store that lasts as long as the process and leaves nothing on disk. Its locks are for this
// process only. Keys are as OpenStore's.
func NewMemoryStore() Store {
	return &memoryStore{records: map[string]Record{}}
}

type memoryStore struct {
	mu      sync.Mutex
	records map[string]Record
	gates   gates
}

// Load implements Store.
func (s *memoryStore) Load(ctx context.Context, key string) (Record, error) {
	if err := ready(ctx, key); err != nil {
		return Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[key].clone(), nil
}

// Save implements Store.
func (s *memoryStore) Save(ctx context.Context, key string, r Record) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[key] = r.clone()
	return nil
}

// Delete implements Store.
func (s *memoryStore) Delete(ctx context.Context, key string) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, key)
	return nil
}

// Lock implements Store.
func (s *memoryStore) Lock(ctx context.Context, key string, lock Lock) (unlock func(), err error) {
	if err := checkLock(key, lock); err != nil {
		return nil, err
	}
	return s.gates.enter(ctx, key, lock)
}

func ready(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// clone returns a record that shares nothing with this one.
func (r Record) clone() Record {
	r.Login = r.Login.clone()
	r.Registrations = maps.Clone(r.Registrations)
	return r
}

func (l *Login) clone() *Login {
	if l == nil {
		return nil
	}
	c := *l
	c.Scopes = slices.Clone(l.Scopes)
	return &c
}
