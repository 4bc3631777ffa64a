from gas.service.clock import Clock


class Hand:
    def __init__(self, time):
        self.time = time

    def __call__(self):
        return self.time


def test_the_clock_counts_whole_seconds_at_its_speed():
    hand = Hand(1000.0)
    clock = Clock(10, origin=500, real=hand)
    hand.time = 1002.55
    assert clock.now() == 525
    assert clock.instant(1001) == 510
    assert clock.real_time(530) == 1003.0
    assert clock.seconds_until(530) == 1003.0 - 1002.55
    assert clock.seconds_until(500) == 0


def test_it_never_goes_back():
    hand = Hand(1000.0)
    clock = Clock(real=hand)
    hand.time = 1010
    assert clock.now() == 1010
    hand.time = 990
    assert clock.now() == 1010


def test_it_goes_on_from_the_present_at_another_speed():
    hand = Hand(1000.0)
    clock = Clock(real=hand)
    hand.time = 1005
    clock.accelerate(100)
    hand.time = 1006
    assert clock.now() == 1105


def test_by_itself_it_shows_the_time_of_day():
    import time

    assert abs(Clock().now() - time.time()) < 2
