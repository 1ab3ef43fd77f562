package httpd

func goldenBodies() []goldenCase { return nil }
