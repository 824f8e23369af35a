// Package wire is the byte layout of ABI v1, the boundary between the core and
// whatever runs it. Both sides use it: the guest to read requests and write
// answers, the Go host for the reverse; edge/worker/core.mjs is its JavaScript
// twin and is held to the same vectors (testdata/wire.json).
//
// # Exports of the module
//
// All parameters and results are i32, because an i64 is a BigInt in JavaScript.
// The module imports nothing when built by TinyGo.
//
//	memory
//	_initialize()             once, before anything else
//	stagger_abi_1()           present in every module that speaks this version
//	input(len) -> ptr         room for a request of len bytes; 0 when len exceeds MaxInput
//	handle(len) -> status     answers the request of len bytes that was written at ptr
//	output_ptr() -> ptr       the answer of the last handle, valid until the next input
//	output_len() -> len
//	heap_top() -> ptr         end of the memory that has been used since _initialize;
//	                          0 when the guest cannot tell
//
// # Encoding
//
// u32 is four bytes, little-endian. u64 is two u32, the low half first. bytes is
// a u32 length and as many bytes. A list is a u32 count and its items. Nothing
// may follow the last field.
//
//	request  = u32 flags, u64 now, bytes method, bytes target,
//	           list of facts (bytes name, bytes value),
//	           list of keys (bytes),
//	           list of documents (bytes key, u32 state, bytes value)
//	response = u32 status, list of headers (bytes name, bytes value),
//	           bytes body, list of audit fields (bytes name, bytes value)
//	need     = list of document keys (bytes)
//
// # The conversation
//
// handle answers StatusResponse (the output is a response), StatusNeed (the
// output is a need: fetch these documents and call again with the same request
// and all documents fetched so far) or StatusMalformed (the request does not
// follow this layout; the output is a text that says where). At most MaxCalls
// calls answer any request. Any other status, or a trap, means that the instance
// must be thrown away and the request answered with Failure.
package wire

// Results of handle.
const (
	StatusResponse  = 0
	StatusNeed      = 1
	StatusMalformed = 2
)

// Limits that both sides keep.
const (
	// MaxInput is the largest request in bytes: two documents of the largest
	// legal size and everything else.
	MaxInput = 640 << 10
	// MaxCalls is how often handle is called for one request at most.
	MaxCalls = 3
)

// Flags of a request.
const (
	// FlagTLS says that the request came to the outermost server over TLS.
	FlagTLS = 1 << 0
)

// State says what became of a document that the core asked for.
type State uint32

// States of a document.
const (
	Found  State = 0 // Value is the document
	Absent State = 1 // the store has no such document
	Failed State = 2 // the store could not tell; the answer will be a 5xx
)

// Pair is a name and its value: a fact, a header, a field of the audit record.
type Pair struct {
	Name, Value string
}

// Document is a stored document as the host fetched it.
type Document struct {
	Key   string
	State State
	Value string
}

// Request is everything that the core knows of a request.
type Request struct {
	// Flags is a combination of FlagTLS.
	Flags uint32
	// Now is the time in seconds since 1970-01-01 UTC.
	Now uint64
	// Method is the HTTP method as received.
	Method string
	// Target is the request target as received: path and query, not decoded.
	Target string
	// Facts are what the host knows: headers of the request under their
	// lower-case names ("authorization", "user-agent"), and the host's own
	// configuration ("plain-http" and "open": tenants, "hosts": lower-case host
	// names, each separated by commas).
	Facts []Pair
	// Keys are the live master secrets, the current one first. At most two.
	Keys []string
	// Documents are those fetched so far.
	Documents []Document
}

// Fact returns the value of the named fact, or "".
func (r *Request) Fact(name string) string {
	for i := range r.Facts {
		if r.Facts[i].Name == name {
			return r.Facts[i].Value
		}
	}
	return ""
}

// Response is a complete answer to a phone, and the record of it.
type Response struct {
	// Status is the HTTP status code.
	Status uint32
	// Headers are all headers that the answer carries, names in lower case.
	Headers []Pair
	// Body is empty for HEAD; content-length is then that of the GET.
	Body []byte
	// Audit is the record of this request for the log. It never holds a secret.
	Audit []Pair
}

// Failure is what a host answers when the core could not: the same bytes as the
// core's own 500.
func Failure() Response {
	return Response{
		Status: 500,
		Headers: []Pair{
			{"content-type", "text/plain; charset=utf-8"},
			{"content-length", "6"},
			{"cache-control", "no-store, no-transform"},
			{"x-content-type-options", "nosniff"},
			{"accept-ranges", "none"},
		},
		Body: []byte("error\n"),
	}
}
