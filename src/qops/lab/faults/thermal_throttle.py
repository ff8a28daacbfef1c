"""A GPU that slows down because it is too hot."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="thermal-throttle",
    about="GPU 0 is too hot and slows down (simulated)",
    parameters=(("gpu", 0),),
)
