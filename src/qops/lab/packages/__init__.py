"""The lab's apt repository: signed, without a network, with stand-ins for the vendor's packages."""
