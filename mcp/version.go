package mcp

import "slices"

// The protocol's revisions.
const (
	Rev20241105 = "2024-11-05"
	Rev20250326 = "2025-03-26"
	Rev20250618 = "2025-06-18"
	Rev20251125 = "2025-11-25"
	Rev20260728 = "2026-07-28"
)

// SessionRevisions returns the revisions that open a session with initialize, newest first. The caller owns the slice.
func SessionRevisions() []string {
	return []string{Rev20251125, Rev20250618, Rev20250326, Rev20241105}
}

// StatelessRevisions returns the revisions in which every request describes itself, newest first. The caller owns the
// slice.
func StatelessRevisions() []string { return []string{Rev20260728} }

// Revisions returns all revisions, newest first. The caller owns the slice.
func Revisions() []string { return append(StatelessRevisions(), SessionRevisions()...) }

// IsSession reports whether rev is one of SessionRevisions.
func IsSession(rev string) bool { return slices.Contains(SessionRevisions(), rev) }

// IsStateless reports whether rev is one of StatelessRevisions.
func IsStateless(rev string) bool { return slices.Contains(StatelessRevisions(), rev) }
