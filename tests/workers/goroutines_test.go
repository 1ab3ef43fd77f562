package workers
