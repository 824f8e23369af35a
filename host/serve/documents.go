package serve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"sync"

	"stagger/edge/wire"
)

// documentsLabel separates this use of a master secret from its others.
const documentsLabel = "stagger documents v1"

// A digester makes the field "documents" of a record: a word that changes when a
// document that an answer was made of changes, or the current master key, whose
// URLs are in the files. With the same word the bytes of a file must be the same.
// Keyed, because documents hold passwords: without the key a word in a log would
// be a way to guess them.
type digester struct{ pool sync.Pool }

type digest struct {
	mac   hash.Hash
	input []byte
}

func newDigester(keys []string) *digester {
	current := ""
	if len(keys) > 0 {
		current = keys[0]
	}
	derived := hmac.New(sha256.New, []byte(current))
	derived.Write([]byte(documentsLabel))
	key := derived.Sum(nil)
	return &digester{sync.Pool{New: func() any { return &digest{mac: hmac.New(sha256.New, key)} }}}
}

// documents is 16 hexadecimal digits, or "" when no document was asked for or the
// store could not tell of one.
func (d *digester) documents(list []wire.Document) string {
	if len(list) == 0 {
		return ""
	}
	g := d.pool.Get().(*digest)
	defer d.pool.Put(g)
	g.input = g.input[:0]
	for i := range list {
		if list[i].State == wire.Failed {
			return ""
		}
		// With their lengths, so that no two lists read the same.
		g.input = append(g.input, byte(list[i].State))
		g.input = binary.LittleEndian.AppendUint32(g.input, uint32(len(list[i].Key)))
		g.input = binary.LittleEndian.AppendUint32(g.input, uint32(len(list[i].Value)))
		g.input = append(append(g.input, list[i].Key...), list[i].Value...)
	}
	g.mac.Reset()
	g.mac.Write(g.input)
	var sum [sha256.Size]byte
	return hex.EncodeToString(g.mac.Sum(sum[:0])[:8])
}
