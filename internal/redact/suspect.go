package redact

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// marks are what a text has, in any case, in which Tokens masks something: a text without them need not be looked at by
// expressions, which take some hundred times longer.
var marks = slices.Concat(secretMembers, []string{
	"bearer", "basic", "eyj", "sk-", "xox", "glpat-", "npm_", "hf_", "github_pat_", "ya29.", "aiza", "akia",
	"\u017f", "\u212a", // which are an s and a k in another case
}, keysOfGitHub())

// secretMembers are parts of the names of members whose values are secret, in lower case.
var secretMembers = []string{
	"token", "secret", "passw", "passphrase", "apikey", "api_key", "api-key", "privatekey", "private_key", "private-key",
	"authorization", "credential", "assertion", "verifier", "cookie",
}

func keysOfGitHub() (kinds []string) {
	for c := 'a'; c <= 'z'; c++ {
		kinds = append(kinds, "gh"+string(c)+"_")
	}
	return kinds
}

// secretMember reports whether the value of a member of this name is masked in a message. A progress token is a number
// of ours that no two requests share, and the answer to nothing.
func secretMember(name string) bool {
	name = strings.ToLower(name)
	return name != "progresstoken" &&
		slices.ContainsFunc(secretMembers, func(word string) bool { return strings.Contains(name, word) })
}

// suspicious reports whether a text may have something that Tokens masks.
func suspicious[T string | []byte](text T) bool {
	m := marked()
	for i := range len(text) - 1 {
		pairs := m.first[text[i]] & m.second[text[i+1]]
		for ; pairs != 0; pairs &= pairs - 1 {
			if begins(text[i:], m.words[bits.TrailingZeros64(pairs)]) {
				return true
			}
		}
	}
	return false
}

// A matcher finds any of a number of words, in any case of ASCII. Where no word begins, the first two letters tell.
type matcher struct {
	first, second [256]uint64  // a bit for each pair of first letters
	words         [64][]string // those that begin with the pair
}

var marked = sync.OnceValue(func() *matcher { return newMatcher(marks) })

func newMatcher(words []string) *matcher {
	m := &matcher{}
	pairs := map[string]int{}
	for _, word := range words {
		n, ok := pairs[word[:2]]
		if !ok {
			n = len(pairs) % len(m.words)
			pairs[word[:2]] = n
		}
		m.words[n] = append(m.words[n], word)
		for _, c := range cases(word[0]) {
			m.first[c] |= 1 << n
		}
		for _, c := range cases(word[1]) {
			m.second[c] |= 1 << n
		}
	}
	return m
}

// cases returns a letter in both cases.
func cases(c byte) []byte {
	if c >= 'a' && c <= 'z' {
		return []byte{c, c - 'a' + 'A'}
	}
	return []byte{c}
}

// begins reports whether a text begins with one of the words.
func begins[T string | []byte](text T, words []string) bool {
	for _, word := range words {
		if len(text) >= len(word) && equalFold(text[:len(word)], word) {
			return true
		}
	}
	return false
}

// equalFold reports whether a text is a word in lower case, in any case of ASCII.
func equalFold[T string | []byte](text T, word string) bool {
	for i := range len(word) {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
