MODELS = {}


def register(name):
    def keep(function):
        MODELS[name] = function
        return function

    return keep
