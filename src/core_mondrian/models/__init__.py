"""Privacy models: may this class be released?"""
