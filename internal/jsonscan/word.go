package jsonscan

import "encoding/binary"

// Eight bytes at a time. In the results the highest bit of a byte is set where the byte is what is looked for; above
// the lowest such byte there may be false ones.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

func load(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func store(b []byte, word uint64) { binary.LittleEndian.PutUint64(b, word) }

// equal finds the bytes that are char, which is ASCII.
func equal(word uint64, char byte) uint64 {
	word ^= lowBits * uint64(char)
	return (word - lowBits) &^ word & highBits
}

// ofNote finds the bytes of a string that are not plain: quotes, backslashes, and what is below the space, with which
// the quote is beside the others once its second bit is turned. What it finds from 0x80 on is to be left out.
func ofNote(word uint64) uint64 {
	quoteOrControl := (word ^ lowBits*2) - lowBits*0x21
	backslash := (word ^ lowBits*'\\') - lowBits
	return quoteOrControl | backslash
}
