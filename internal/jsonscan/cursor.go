package jsonscan

import (
	"bytes"
	"errors"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Cursor reads JSON text of an expected shape in one pass. What is not as expected makes it bad, and then it stays
// so: names that are escaped, text that is no UTF-8 or has lone surrogates, and values of another type. That says
// nothing of the text, which has to be read in the general way then. A Cursor is for one goroutine.
type Cursor struct {
	b     []byte
	i     int
	depth int
	first bool // the next member or element is the first of its object or array
	bad   bool
	many  bool // a long string was not most of the text
}

// NewCursor returns a Cursor before the value that is the whole of b.
func NewCursor(b []byte) Cursor { return Cursor{b: b, i: Space(b, 0)} }

// Good reports whether all that has been read was as expected.
func (c *Cursor) Good() bool { return !c.bad }

// Ended reports whether nothing but white space follows, and all was as expected.
func (c *Cursor) Ended() bool { return !c.bad && Space(c.b, c.i) == len(c.b) }

// Left returns how many bytes of the text have not been read.
func (c *Cursor) Left() int { return len(c.b) - c.i }

// Kind returns the first byte of the value that comes next, 0 if there is none.
func (c *Cursor) Kind() byte {
	if c.bad || c.i >= len(c.b) {
		return 0
	}
	return c.b[c.i]
}

// Object enters an object, whose members Key reads.
func (c *Cursor) Object() { c.open('{') }

// Array enters an array, whose elements Next goes to.
func (c *Cursor) Array() { c.open('[') }

func (c *Cursor) open(bracket byte) {
	if c.Kind() != bracket || c.depth >= MaxDepth {
		c.bad = true
		return
	}
	c.depth++
	c.i++
	c.first = true
}

// Key reads the name of the object's next member; its value comes next. At the object's end it returns false.
func (c *Cursor) Key() (key []byte, ok bool) {
	if !c.more('}') {
		return nil, false
	}
	closing, start, err := name(c.b, c.i)
	if err != nil {
		c.bad = true
		return nil, false
	}
	key = c.b[c.i+1 : closing-1]
	c.i = start
	if slices.Contains(key, '\\') {
		c.bad = true
		return nil, false
	}
	return key, true
}

// Next goes to the array's next element. At the array's end it returns false.
func (c *Cursor) Next() bool { return c.more(']') }

func (c *Cursor) more(closing byte) bool {
	if c.bad {
		return false
	}
	first := c.first
	c.first = false
	c.i = Space(c.b, c.i)
	switch next := c.Kind(); {
	case next == closing:
		c.i++
		c.depth--
		return false
	case first:
		return true
	case next == ',':
		c.i = Space(c.b, c.i+1)
		return true
	}
	c.bad = true
	return false
}

// Raw passes over a value and returns it, sharing memory with the text.
func (c *Cursor) Raw() []byte {
	if c.bad {
		return nil
	}
	end, err := value(c.b, c.i, c.depth)
	if err != nil {
		c.bad = true
		return nil
	}
	raw := c.b[c.i:end:end]
	c.i = end
	return raw
}

// Bool reads true or false.
func (c *Cursor) Bool() bool {
	switch string(c.Raw()) {
	case "true":
		return true
	case "false":
	default:
		c.bad = true
	}
	return false
}

var errString = errors.New("not a string")

// longText is the size in bytes from which a string is unescaped without a look at where it ends.
const longText = 64 << 10

// Text reads a string. It shares no memory with the text.
func (c *Cursor) Text() string {
	near := c.b
	if !c.many && len(c.b)-c.i > longText {
		near = c.b[:c.i+longText]
	}
	inner, err := c.inner(near)
	if errors.Is(err, errEnd) && len(near) < len(c.b) {
		return c.longText()
	}
	text, ok := unescape(inner)
	c.bad = c.bad || err != nil || !ok
	return text
}

// longText reads a string that is likely to be most of what is left. If it proves not to be, others are not read so.
func (c *Cursor) longText() string {
	var text strings.Builder
	text.Grow(len(c.b) - c.i)
	var piece [unescapePiece]byte
	i := c.i + 1
	for {
		n, read := unescapeInto(&piece, c.b[i:])
		text.Write(piece[:n])
		i += read
		if i < len(c.b) && c.b[i] == '"' {
			break
		}
		if read == 0 {
			c.bad = true
			return ""
		}
	}
	c.i = i + 1
	if text.Len() < text.Cap()-text.Cap()/8 {
		c.many = true
		return strings.Clone(text.String())
	}
	return text.String()
}

// TextIn reads a string into memory that it may share with others.
func (c *Cursor) TextIn(shared *Texts) string {
	inner, err := c.inner(c.b)
	if c.bad = c.bad || err != nil; c.bad {
		return ""
	}
	if len(inner) > unescapePiece/2 {
		text, ok := unescape(inner)
		c.bad = c.bad || !ok
		return text
	}
	if valid(inner) == len(inner) {
		return shared.add(inner)
	}
	var piece [unescapePiece]byte
	n, read := unescapeInto(&piece, inner)
	if c.bad = c.bad || read < len(inner); c.bad {
		return ""
	}
	return shared.add(piece[:n])
}

// inner passes over a string that ends within near, the text or the first part of it, and returns what stands between
// the quotes.
func (c *Cursor) inner(near []byte) ([]byte, error) {
	if c.Kind() != '"' {
		return nil, errString
	}
	end, err := String(near, c.i)
	if err != nil {
		return nil, err
	}
	inner := near[c.i+1 : end-1]
	c.i = end
	return inner, nil
}

// textsPiece is how much memory texts share at most, in bytes: so much is kept alive by any one of them.
const textsPiece = 16 << 10

// Texts is memory that strings share. The zero value is empty and may not be copied after its first use.
type Texts struct {
	piece strings.Builder
	next  int // the size of the next piece
}

// add returns b as a string.
func (t *Texts) add(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > t.piece.Cap()-t.piece.Len() {
		t.piece = strings.Builder{}
		t.piece.Grow(max(t.next, len(b)))
		t.next = min(textsPiece, 2*t.piece.Cap())
	}
	start := t.piece.Len()
	t.piece.Write(b)
	return t.piece.String()[start:]
}

// unescape returns the value of what stands between a string's quotes, in memory of its own that is filled once. It
// fails for what is no valid UTF-8 and for lone surrogates.
func unescape(inner []byte) (string, bool) {
	i := valid(inner)
	if i == len(inner) {
		return string(inner), true
	}
	if inner[i] != '\\' {
		return "", false
	}
	room := len(inner) - bytes.Count(inner[i:], []byte{'\\'})/2 // a backslash may stand for itself
	var text strings.Builder
	text.Grow(room)
	text.Write(inner[:i])
	var piece [unescapePiece]byte
	for i < len(inner) {
		n, read := unescapeInto(&piece, inner[i:])
		if read == 0 {
			return "", false
		}
		text.Write(piece[:n])
		i += read
	}
	if text.Len() < room-room/8 {
		return strings.Clone(text.String()), true
	}
	return text.String(), true
}

// unescapePiece is how much is unescaped at once, in bytes: a piece stays in the processor's nearest cache.
const unescapePiece = 2 << 10

// unescapeInto unescapes as much of b as there is room for, up to a quote. It returns how much it has written and read,
// 0 at once for what unescape fails for and for control characters.
func unescapeInto(piece *[unescapePiece]byte, b []byte) (n, i int) {
	for i < len(b) && n <= len(piece)-8 {
		if len(b)-i >= 8 {
			word := load(b[i:])
			store(piece[n:], word) // what is not plain is written over
			found := (ofNote(word) | word) & highBits
			plain := min(8, bits.TrailingZeros64(found)/8)
			n += plain
			i += plain
			if found == 0 || n > len(piece)-8 {
				continue
			}
		}
		switch char := b[i]; {
		case char == '"':
			return n, i
		case char == '\\':
			r, size := escaped(b[i:])
			if size == 0 {
				return 0, 0
			}
			if r < utf8.RuneSelf {
				piece[n] = byte(r)
				n++
			} else {
				n += utf8.EncodeRune(piece[n:], r)
			}
			i += size
		case char < ' ':
			return 0, 0
		case char < utf8.RuneSelf:
			piece[n] = char
			n++
			i++
		default:
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 {
				return 0, 0
			}
			n += copy(piece[n:], b[i:i+size])
			i += size
		}
	}
	return n, i
}

// escaped returns the character that the escape sequence at the start of b stands for, and the length of that; 0 if
// there is none, or a lone surrogate.
func escaped(b []byte) (r rune, size int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch char := b[1]; char {
	case '"', '\\', '/':
		return rune(char), 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	}
	return escapedRune(b)
}

// escapedRune returns the character that a \u, or a pair of them, at the start of b stands for, and the length of
// that; 0 for a lone surrogate.
func escapedRune(b []byte) (r rune, size int) {
	high := hex4(b)
	switch {
	case high < 0 || 0xdc00 <= high && high < 0xe000:
		return 0, 0
	case high < 0xd800 || high >= 0xe000:
		return high, 6
	}
	low := hex4(b[6:])
	if low < 0xdc00 || low >= 0xe000 {
		return 0, 0
	}
	return (high-0xd800)<<10 + (low - 0xdc00) + 0x10000, 12
}

// hex4 returns the number of a \u at the start of b, -1 if there is none.
func hex4(b []byte) (n rune) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	for _, char := range b[2:6] {
		switch {
		case '0' <= char && char <= '9':
			n = n<<4 + rune(char-'0')
		case 'a' <= char|0x20 && char|0x20 <= 'f':
			n = n<<4 + rune(char|0x20-'a'+10)
		default:
			return -1
		}
	}
	return n
}

// valid returns the index of the first byte that is a backslash or no valid UTF-8.
func valid(b []byte) (i int) {
	for i < len(b) {
		if len(b)-i >= 8 {
			word := load(b[i:])
			found := word&highBits | equal(word, '\\')
			i += min(8, bits.TrailingZeros64(found)/8)
			if found == 0 {
				continue
			}
		}
		switch char := b[i]; {
		case char == '\\':
			return i
		case char < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 {
				return i
			}
			i += size
		}
	}
	return i
}
