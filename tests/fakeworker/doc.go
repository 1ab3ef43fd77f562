// Package fakeworker is a worker without Python, for tests of the front: it sets up and answers as it is told, and so
// fails in ways in which a real one cannot be made to. The test binary is the program, by Main.
//
// The model's reference, or what follows its colon, says how it is set up: "good", "fails", "hangs", or "good-once",
// which hangs from its second process on. A word in an input says what becomes of that prediction: "die", "forever"
// (until it is canceled), "fail", "rubbish", "large"; else its output is its request.
package fakeworker
