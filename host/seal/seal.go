// Package seal seals the documents of a fleet, and opens them: whoever can read the
// store reads no password in it, and whoever can write to it cannot put a document
// of their own, or one that was sealed for another device, in the place of one.
//
// It owns the form of a sealed document and the key that it is sealed under. The
// Worker has the same in edge/worker/seal.mjs, and testdata/seal.json holds the two
// together; the core never sees anything but documents. It must never hand out a
// document that does not open in the place of one that does, and never put a byte
// of a document or a key into an error.
//
// A sealed document is text:
//
//	stagger-seal:1:<key>:<base64 of nonce, ciphertext and tag>
//
// <key> is the id of the master secret, as at the beginning of a token. The rest is
// AES-256-GCM with a random nonce of 12 bytes and a tag of 16, in base64 of RFC 4648
// with padding. The key is HMAC-SHA256 of "stagger seal v1", a zero byte and the
// tenant, under the master secret. What is authenticated beside the document is
// everything before the base64, and the key of the store behind it: so form, tenant
// and device cannot be changed.
package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"sync"

	"stagger/edge/provision"
	"stagger/host/exchange"
)

// Prefix begins every sealed document, of this form and of later ones. No document
// that the core reads begins like that.
const Prefix = "stagger-seal:"

const (
	form     = Prefix + "1:"
	keyLabel = "stagger seal v1\x00"
)

// What is wrong with a document of the store.
var (
	ErrPlain    = errors.New("is not sealed")
	ErrForm     = errors.New("is sealed in a form that this version does not know")
	ErrNoKey    = errors.New("is sealed, and there is no master key here to open it")
	ErrOtherKey = errors.New("is sealed under a key that is not live")
	ErrChanged  = errors.New("was changed, or sealed for another key of the store or under another master key")
)

// Keys seal documents and open them. They are safe for concurrent use.
type Keys struct {
	masters []string
	// ciphers are made when they are first needed, by master secret and tenant.
	ciphers sync.Map
}

type cipherKey struct {
	master int
	tenant string
}

// New makes keys of master secrets, the current one first. Without any nothing
// opens.
func New(masters []string) *Keys { return &Keys{masters: masters} }

// Sealed says whether a document claims to be sealed.
func Sealed(text string) bool { return strings.HasPrefix(text, Prefix) }

// Seal seals the document that is to lie under key, with the current master secret.
func (k *Keys) Seal(key, document string) (string, error) {
	if len(k.masters) == 0 {
		return "", errors.New("there is no master key to seal with")
	}
	header := form + string(provision.KeyID(k.masters[0])) + ":"
	sealed := k.cipher(0, key).Seal(nil, nil, []byte(document), []byte(header+key))
	return header + base64.StdEncoding.EncodeToString(sealed), nil
}

// Open opens what lies under key. current says that it is sealed under the current
// master secret.
func (k *Keys) Open(key, text string) (document string, current bool, err error) {
	if !Sealed(text) {
		return "", false, ErrPlain
	}
	id, rest, ok := strings.Cut(strings.TrimPrefix(text, form), ":")
	if !ok || len(id) != 1 || !strings.HasPrefix(text, form) {
		return "", false, ErrForm
	}
	sealed, bad := base64.StdEncoding.Strict().DecodeString(rest)
	if bad != nil || strings.ContainsAny(rest, "\r\n") { // which the decoder skips
		return "", false, ErrForm
	}
	err = ErrOtherKey
	if len(k.masters) == 0 {
		err = ErrNoKey
	}
	for i, master := range k.masters {
		// Two secrets may share an id.
		if provision.KeyID(master) != id[0] {
			continue
		}
		if plain, bad := k.cipher(i, key).Open(nil, nil, sealed, []byte(form+id+":"+key)); bad == nil {
			return string(plain), i == 0, nil
		}
		err = ErrChanged
	}
	return "", false, err
}

// cipher is that of the tenant whose document lies under key.
func (k *Keys) cipher(master int, key string) cipher.AEAD {
	at := cipherKey{master, tenantOf(key)}
	if made, ok := k.ciphers.Load(at); ok {
		return made.(cipher.AEAD)
	}
	mac := hmac.New(sha256.New, []byte(k.masters[master]))
	mac.Write([]byte(keyLabel + at.tenant))
	// Neither can fail with a key of this size.
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		panic(err)
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	made, _ := k.ciphers.LoadOrStore(at, gcm)
	return made.(cipher.AEAD)
}

// tenantOf reads the tenant out of tenant:<id> or device:<tenant>:<mac>.
func tenantOf(key string) string {
	_, rest, _ := strings.Cut(key, ":")
	tenant, _, _ := strings.Cut(rest, ":")
	return tenant
}

// An Opener says what becomes of the documents of a store, sealed or not.
type Opener struct {
	*Keys
	// Required refuses documents that are not sealed: who can write to the store
	// cannot plant one.
	Required bool
}

// Document returns the document that text, which lies under key, stands for.
func (o Opener) Document(key, text string) (string, error) {
	if !Sealed(text) && !o.Required {
		return text, nil
	}
	document, _, err := o.Open(key, text)
	return document, err
}

// Store returns store with its documents opened. What does not open is an error of
// the store.
func (o Opener) Store(store exchange.Store) exchange.Store { return opened{store, o} }

type opened struct {
	exchange.Store
	opener Opener
}

func (s opened) Get(ctx context.Context, key string) (string, bool, error) {
	text, found, err := s.Store.Get(ctx, key)
	if err != nil || !found {
		return "", false, err
	}
	document, err := s.opener.Document(key, text)
	if err != nil {
		return "", false, errors.New(key + " " + err.Error())
	}
	return document, true, nil
}
