// Package weights fetches a model's weights into a cache that all servers of a machine share, checks them, and places
// them where the model reads them.
//
//	Run       fetches the weights of a model and says when each is there
//	Cache     files by their SHA-256, in Cog's layout; what a source had when it was last asked; downloads that go on
//	Gate      tells workers, by locked files, when each of the weights is there
//
// Guarantees: a file is in the cache, or at a target, only whole and with the right SHA-256 and size. A download goes on
// after a break, and after the process was killed. Two servers that want one file fetch it once. Credentials are sent to
// the first host alone, and are in no error and no log.
//
// It imports egress alone of the runtime. The command may import it.
package weights
