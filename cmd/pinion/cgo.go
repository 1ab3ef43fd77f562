package main

import "C" // timerslack.c is a part of this package
