from tests.api.asks import Ask

ASKS: list[Ask] = []
