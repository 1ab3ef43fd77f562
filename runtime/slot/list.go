package slot

type list struct {
	head, tail *Call
	len        int
}

func (l *list) pushBack(c *Call) { l.insertAfter(l.tail, c) }

// insertByArrival inserts a call by the time of its arrival. It searches from the head, where that usually is.
func (l *list) insertByArrival(c *Call) {
	var prev *Call
	for next := l.head; next != nil && next.since.Before(c.since); next = next.next {
		prev = next
	}
	l.insertAfter(prev, c)
}

// insertAfter inserts a call after another one; nil means at the head.
func (l *list) insertAfter(prev, c *Call) {
	if c.prev = prev; prev == nil {
		c.next, l.head = l.head, c
	} else {
		c.next, prev.next = prev.next, c
	}
	if c.next == nil {
		l.tail = c
	} else {
		c.next.prev = c
	}
	l.len++
}

func (l *list) remove(c *Call) {
	if c.prev == nil {
		l.head = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.tail = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
	l.len--
}
