package timerslack

import "C"
