// Package chaos makes many things fail at once: a server with a real Python under load, whose workers are killed,
// stopped, robbed of their descriptors and of their memory and made to write rubbish, whose disk is full, whose
// webhooks are stuck, whose clients leave, whose clock jumps, whose log is not read, whose binary and whose run folder
// are removed, and which reloads. What is not available where it runs (a file system, a control group, a clock of its
// own) is left out, and the log says so. PINION_SOAK=1 asks for 10 500 faults, PINION_CHAOS_FAULTS for that many in
// each scene, PINION_CHAOS_SEED for those of another run, and PINION_CHAOS_KEEP names a folder for what the checker saw
// where it complains. The seed decides about each request and each fault, but not about their timing.
//
// Half of the scenes have a model that takes predictions together: there an item whose batch lost its worker is to
// succeed when it is tried again.
//
// The clients decide nothing. They write a journal of what they asked for and got, the model writes a ledger, and
// the program in the folder checker, which imports nothing of the server or of this package, says from the two
// whether every promise was kept.
//
// TestFleet_LosesNoJob is another scene: servers with one job queue that are killed and frozen, as is NATS. The program
// in the folder fleetchecker judges it. PINION_CHAOS_JOBS says how many jobs are accepted: 10 000 for ./build.sh fleet
// and with PINION_SOAK=1, else 1500.
//
// TestMixed_AllDoors loads every door, of all protocols, of models with batched methods, while clients leave, traffic
// shifts, the models reload and their workers are killed. PINION_CHAOS_MINUTES says for how long.
//
// TestAttacks_OthersAreServed is another: hostile clients of all kinds connect and stay, while others are served. In
// TestShortages_AreOutlived a resource runs short while a worker ends, in TestQueue_Scenes something happens to the job
// queue, and in TestStop_UnderLoad all receivers of webhooks are dead. In TestMemory_ChaosOfMemory and
// TestMemory_GroupAtItsLimit memory is scarce. Each client of the load or of the crowd judges its own answers, and the
// server must be as it was when all is over.
//
// The machine's clock is not touched when the clock jumps: each process is made to see another time of day
// (harness.Server's Jump), the front and the workers that are there all at once, by seconds or by years, and the true
// one again at the end. A worker that was born since sees the true one. What it cannot show is a wait of the kernel's
// until a time of day, of which neither the server nor a Python of today has any.
package chaos
