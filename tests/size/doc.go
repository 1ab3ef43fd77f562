// Package size limits how much code each room has. It counts two things, so that neither can be had for the other: lines that
// hold code, without blanks and comments, and statements.
//
// A room is a package of the product with what lies below it. Its tests are its *_test.go files and its folders tests and
// testdata; those in the folder tests have rooms too. Generated files are left out.
//
// recorded.txt has the counts; a room that exceeds them fails. `PINION_RECORD=1 go test ./tests/size` records the tree as it is.
// A commit that raises a count says in its body what the code is spent for.
package size
